// fetch with an end: a server that sends one message without end must not fill our memory.

export function boundedFetch(longest: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (!response.body) return response
    const isEvents = response.headers.get('content-type')?.includes('text/event-stream') ?? false
    const { status, statusText, headers } = response
    return new Response(response.body.pipeThrough(meter(longest, isEvents)), { status, statusText, headers })
  }
}

const NEWLINE = 10

/** Event streams may last as long as they like: there a line is what must not be too long. */
function meter(longest: number, isEvents: boolean): TransformStream<Uint8Array, Uint8Array> {
  let size = 0
  return new TransformStream({
    transform(chunk, controller) {
      const end = isEvents ? chunk.lastIndexOf(NEWLINE) : -1
      size = end < 0 ? size + chunk.length : chunk.length - end - 1
      if (size > longest)
        throw new Error(`it sent a message of more than ${Math.round(longest / 1_000_000)} MB`)
      controller.enqueue(chunk)
    },
  })
}
