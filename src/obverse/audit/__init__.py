"""People judge a frozen, blind, stratified sample of views; a report says what share is valid, with its interval."""
