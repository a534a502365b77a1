// The model that is meant where none is named.

export const MODEL = 'claude-sonnet-5-5'
