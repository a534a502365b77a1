// Checks that a result can be sent. Some clients disconnect at a message of more than 10 MB and lose every server's
// tools; a result that cannot be serialised would never be answered.

const MAX_BYTES = 10_000_000

/** Returns the result; throws if it is too large or cannot be serialised. */
export function assertSendable<Result>(result: Result): Result {
  const bytes = bytesOf(result)
  if (bytes === undefined) throw new Error('a message is nested too deeply to be passed on')
  if (bytes > MAX_BYTES)
    throw new Error(
      `a message of ${Math.round(bytes / 1_000_000)} MB is too large to be passed on; ask for less`,
    )
  return result
}

function bytesOf(result: unknown): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(result))
  } catch {
    return undefined
  }
}
