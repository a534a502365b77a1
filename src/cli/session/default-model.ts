// Names the model that commands use if the user chooses none.

/** Id of the default model. */
export const MODEL = 'claude-sonnet-5-5'
