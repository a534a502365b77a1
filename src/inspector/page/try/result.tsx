// What a tool answered. Images are shown only in formats that cannot run anything.
import type { CallView } from '../../api.ts'
import { Badge, ForeignBlock, formatMilliseconds, formatSize, JsonBlock, Section } from '../ui/index.ts'

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

export function CallResult({ result }: { readonly result: CallView }) {
  const { isError, milliseconds, content, structuredContent, size, isCut } = result
  return (
    <Section
      title="Result"
      aside={
        <>
          <Badge tone={isError ? 'bad' : 'good'}>{isError ? 'the tool reported an error' : 'done'}</Badge>
          <span class="hint">
            {formatMilliseconds(milliseconds)}, {formatSize(size)}
            {isCut && ', cut'}
          </span>
        </>
      }
    >
      {content.map((block, at) => (
        <ContentBlock key={at} block={block} number={at + 1} />
      ))}
      {content.length === 0 && structuredContent === undefined && <p class="hint">The result is empty.</p>}
      {structuredContent !== undefined && (
        <details open={content.length === 0}>
          <summary>Structured content</summary>
          <JsonBlock label="Structured content" value={structuredContent} />
        </details>
      )}
    </Section>
  )
}

function ContentBlock({ block, number }: { readonly block: unknown; readonly number: number }) {
  const { type, text, data, mimeType } = (block ?? {}) as { [field: string]: unknown }
  if (type === 'text' && typeof text === 'string')
    return <ForeignBlock label={`Text ${number}`} text={readable(text)} />
  if (
    type === 'image' &&
    typeof data === 'string' &&
    typeof mimeType === 'string' &&
    IMAGES.includes(mimeType)
  )
    return <img class="result" alt={`Result ${number}`} src={`data:${mimeType};base64,${data}`} />
  return <JsonBlock label={`Content ${number}`} value={block} />
}

/** JSON in one line is set in lines. */
function readable(text: string): string {
  if (!/^\s*[[{]/.test(text) || text.includes('\n') || text.length > 1_000_000) return text
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
