// The query, and the tool that should come first.
import { useEffect, useState } from 'preact/hooks'
import { useApp } from '../app/state.ts'

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
      <ExpectedName value={expected} onChange={(name) => onChange({ expected: name })} />
    </search>
  )
}

/** Counts once it is the name of a tool. */
function ExpectedName({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (name: string) => void
}) {
  const { tools } = useApp()
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const isTool = (name: string) => tools.value?.some((tool) => tool.name === name) !== false
  const enter = (name: string) => {
    setText(name)
    if (name === '' || isTool(name)) onChange(name)
  }
  return (
    <label>
      <span>Expected tool</span>
      <input
        type="search"
        value={text}
        placeholder="full name of the tool that should come first"
        aria-invalid={text !== '' && !isTool(text)}
        onInput={(event) => enter(event.currentTarget.value)}
      />
    </label>
  )
}
