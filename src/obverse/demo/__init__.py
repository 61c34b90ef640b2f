"""The whole loop on the packaged sample: data, training, proof, and a page that shows it."""
