// Parses the `anthropic-beta` header.

/** Returns the beta names in an `anthropic-beta` header, trimmed, without empty ones. */
export function parseBetas(header: string | undefined): string[] {
  return (header ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '')
}
