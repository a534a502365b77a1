// Defines the error for search inputs that a hosted search tool would refuse.
// Implements wire 20.

/**
 * A search input that a hosted search tool would refuse. A shelf falls back to its classic ranker; a gateway reports it
 * (wire 20).
 */
export class SearchInputError extends Error {
  readonly code = 'invalid_tool_input'

  constructor(message: string) {
    super(message)
    this.name = 'SearchInputError'
  }
}
