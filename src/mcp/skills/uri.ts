// Compares URIs of skill files by their decoded segments, so that no spelling leads out of a skill's folder.

/** A URI split into scheme and segments. */
export type FileUri = {
  readonly scheme: string
  /** Decoded; none is empty, `.` or `..`, and none contains a slash. */
  readonly segments: readonly string[]
}

const FORM = /^([a-z][a-z0-9+.-]*):\/\/([^?#\\]+)$/i
const MAX_URI_LENGTH = 2000
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[/\\\u0000-\u001f\u007f]/

/** Parses a URI; returns undefined if it is not an ordinary path, such as `skill://a/%2e%2e/b`. */
export function readFileUri(uri: unknown): FileUri | undefined {
  if (typeof uri !== 'string' || uri.length > MAX_URI_LENGTH || !uri.isWellFormed()) return undefined
  const [, scheme = '', path = ''] = FORM.exec(uri) ?? []
  if (path === '') return undefined
  const segments = path.split('/').map(decoded)
  if (!segments.every((segment) => segment !== undefined && isSafe(segment))) return undefined
  return { scheme: scheme.toLowerCase(), segments: segments as string[] }
}

/** Returns the path of a file below a folder; undefined if it is not below it. */
export function pathBelow(folder: FileUri, file: FileUri): string | undefined {
  const { length } = folder.segments
  const isBelow =
    file.scheme === folder.scheme &&
    file.segments.length > length &&
    folder.segments.every((segment, index) => file.segments[index] === segment)
  return isBelow ? file.segments.slice(length).join('/') : undefined
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

function isSafe(segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..' && !UNSAFE.test(segment)
}
