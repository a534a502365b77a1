// The working set of a turn: always loaded, loaded by searches, and on the shelf.
import { useState } from 'preact/hooks'
import type { SetTool, WorkingSet } from '../../model/pools.ts'
import type { InspectedTurn } from '../../model/turn-types.ts'
import { formatCount, plural, shortCount } from '../ui/format.ts'
import { Section } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'

const ROW = 26
const MAX_HEIGHT = 236

export function WorkingSetSection({ set, turn }: { readonly set: WorkingSet; readonly turn: InspectedTurn }) {
  const [filter, setFilter] = useState('')
  if (!set.isComplete && turn.loaded === undefined) return null
  const aside = (
    <input
      type="search"
      aria-label="Filter tools of the working set"
      placeholder="Filter tools"
      value={filter}
      onInput={(event) => setFilter(event.currentTarget.value)}
    />
  )
  return (
    <Section title="What the model could see" aside={aside}>
      <div class="sets">
        <ToolSet title="Always loaded" about="in every request" tools={set.always} filter={filter} />
        <ToolSet title="Loaded" about="found by searches" tools={set.loaded} filter={filter} />
        <ToolSet title="On the shelf" about="known by name or by search" tools={set.shelf} filter={filter} />
      </div>
      {!set.isComplete && <p class="hint">The recording does not list the other tools of this turn.</p>}
    </Section>
  )
}

export function ToolSet({
  title,
  about,
  tools,
  filter = '',
}: {
  readonly title: string
  readonly about: string
  readonly tools: readonly SetTool[]
  readonly filter?: string
}) {
  const wanted = filter.trim().toLowerCase()
  const shown = wanted === '' ? tools : tools.filter(({ name }) => name.toLowerCase().includes(wanted))
  const tokens = tools.reduce((sum, tool) => sum + (tool.tokens ?? 0), 0)
  return (
    <div class="set">
      <h4>
        {title} <span class="amount">{formatCount(tools.length)}</span>
      </h4>
      <p class="hint">
        {about}
        {tokens > 0 && `, ${shortCount(tokens)} tokens`}
      </p>
      {shown.length > 0 ? (
        <VirtualList
          items={shown}
          rowHeight={ROW}
          maxHeight={MAX_HEIGHT}
          label={`${title}: ${plural(shown.length, 'tool')}`}
          keyOf={({ name }, at) => `${at}${name}`}
        >
          {({ name, server, tokens: own }) => (
            <span class="tool-row" title={name}>
              <code>
                <Foreign text={shortName(name, server)} limit={100} />
              </code>
              {server !== '' && (
                <span class="hint">
                  <Foreign text={server} limit={40} />
                </span>
              )}
              <span class="amount">{own === undefined ? '' : formatCount(own)}</span>
            </span>
          )}
        </VirtualList>
      ) : (
        <p class="hint">{tools.length === 0 ? 'None.' : 'None matches.'}</p>
      )}
    </div>
  )
}

/** The name without its server, which is shown beside it. */
function shortName(name: string, server: string): string {
  const start = [`mcp__${server}__`, `${server}__`].find((prefix) => server !== '' && name.startsWith(prefix))
  return start === undefined ? name : name.slice(start.length)
}
