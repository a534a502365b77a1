// The error for search inputs that a hosted search tool refuses.
// Implements wire 20.

/** A search input that a hosted tool refuses. A shelf falls back to its classic ranker, a gateway says so (wire 20). */
export class SearchInputError extends Error {
  readonly code = 'invalid_tool_input'

  constructor(message: string) {
    super(message)
    this.name = 'SearchInputError'
  }
}
