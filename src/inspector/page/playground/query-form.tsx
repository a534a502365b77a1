// The query, and the tool that should come first.
import { ToolPicker } from '../tools/index.ts'

export function QueryForm({
  query,
  expected,
  onChange,
}: {
  readonly query: string
  readonly expected: string
  readonly onChange: (next: { q?: string; expected?: string }) => void
}) {
  return (
    <search class="query-form">
      <label>
        <span>Query</span>
        <input
          type="search"
          id="query"
          value={query}
          placeholder="what a model would search for"
          onInput={(event) => onChange({ q: event.currentTarget.value })}
        />
      </label>
      <ToolPicker
        label="Expected tool"
        placeholder="the tool that should come first"
        value={expected}
        onPick={(name) => onChange({ expected: name })}
      />
    </search>
  )
}
