// The default model.

export const MODEL = 'claude-sonnet-5-5'
