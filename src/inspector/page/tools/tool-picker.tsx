// A field for the name of a tool.
import { useEffect, useState } from 'preact/hooks'
import { useApp } from '../app/index.ts'

/** Names offered while a name is typed. */
const MAX_OFFERED = 30

/** A field for the name of a tool, which offers those that match. */
export function ToolPicker({
  label,
  placeholder,
  value,
  onPick,
}: {
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly onPick: (name: string) => void
}) {
  const { tools } = useApp()
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const names = (tools.value ?? []).map(({ name }) => name)
  const wanted = text.trim().toLowerCase()
  const offered = names.filter((name) => name.toLowerCase().includes(wanted)).slice(0, MAX_OFFERED)
  const take = (next: string) => {
    setText(next)
    if (next === '' || names.includes(next)) onPick(next)
  }
  const isUnknown = text !== '' && tools.value !== undefined && !names.includes(text) && offered.length === 0
  return (
    <label>
      <span>{label}</span>
      <input
        type="search"
        list="tool-names"
        value={text}
        placeholder={placeholder}
        aria-invalid={isUnknown}
        onInput={(event) => take(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && offered[0] !== undefined) take(offered[0])
        }}
      />
      {isUnknown && <span class="bad">no tool has this name</span>}
      <datalist id="tool-names">
        {offered.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  )
}
