// Defines the error for an option whose value cannot be used.

/**
 * An option has an invalid value. The message names options of the library; a command line replaces the remedy by one
 * that names its flags.
 */
export class OptionError extends Error {
  readonly code = 'OPTION'
  readonly option: string
  readonly problem: string

  /** @param remedy - What to do, in terms of the library's options. */
  constructor(option: string, problem: string, remedy: string) {
    super(`${problem}; ${remedy}`)
    this.name = 'OptionError'
    this.option = option
    this.problem = problem
  }
}
