// Asks for the key where the process wants one and the address had none.
import { useState } from 'preact/hooks'
import { Empty, ErrorNote } from '../ui/parts.tsx'
import { useApp, useAppHandle } from './state.ts'

export function KeyForm({ onKey }: { readonly onKey: () => void }) {
  const { client } = useAppHandle()
  const { about } = useApp()
  const [key, setKey] = useState('')
  const submit = (event: Event) => {
    event.preventDefault()
    client.setKey(key.trim())
    onKey()
  }
  return (
    <Empty title="This page needs its key">
      <p>
        Toolshelf printed an address that ends in the key when it started. Open that address, or enter the
        key, or that of an operator:
      </p>
      <ErrorNote text={client.hasKey() ? about.error : ''} />
      <form class="key-form" onSubmit={submit}>
        <label>
          <span>Key</span>
          <input
            type="password"
            autocomplete="off"
            required
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Continue
        </button>
      </form>
    </Empty>
  )
}
