// Two turns side by side: figures that differ, and tools that came or went.
import { compareTurns } from '../../model/compare.ts'
import type { Pools } from '../../model/pools.ts'
import type { InspectedTurn } from '../../model/turn-types.ts'
import { formatCount } from '../ui/format.ts'
import { DataTable, Section } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'
import { ToolSet } from './working-set.tsx'

export function Comparison({
  before,
  after,
  pools,
}: {
  readonly before: InspectedTurn
  readonly after: InspectedTurn
  readonly pools: Pools
}) {
  const { gained, lost, newOnShelf, goneFromShelf, figures } = compareTurns(before, after, pools)
  const [one, other] = [`Turn ${before.index + 1}`, `Turn ${after.index + 1}`]
  const shown = figures.filter((figure) => figure.before !== '' || figure.after !== '')
  const title = `${other} compared with ${one.toLowerCase()}`
  return (
    <Section title={title}>
      <DataTable
        label={title}
        head={[
          { text: 'Figure' },
          { text: one, isNumber: true },
          { text: other, isNumber: true },
          { text: 'Change', isNumber: true },
        ]}
      >
        {shown.map(({ label, before: old, after: now }) => (
          <tr key={label} class={old === now ? 'same' : 'changed'}>
            <th scope="row">{label}</th>
            <td class="number">
              <Value value={old} />
            </td>
            <td class="number">
              <Value value={now} />
            </td>
            <td class="number">{changeOf(old, now)}</td>
          </tr>
        ))}
      </DataTable>
      <div class="sets">
        <ToolSet title="Came into sight" about={`seen in ${other.toLowerCase()} alone`} tools={gained} />
        <ToolSet title="Went out of sight" about={`seen in ${one.toLowerCase()} alone`} tools={lost} />
        <ToolSet title="New on the shelf" about="added by a server" tools={newOnShelf} />
        <ToolSet title="Gone from the shelf" about="removed by a server" tools={goneFromShelf} />
      </div>
    </Section>
  )
}

function Value({ value }: { readonly value: number | string }) {
  return typeof value === 'number' ? formatCount(value) : <Foreign text={value} limit={60} />
}

function changeOf(before: number | string, after: number | string): string {
  if (typeof before !== 'number' || typeof after !== 'number') return before === after ? '' : 'changed'
  const change = after - before
  return change === 0 ? '' : `${change > 0 ? '+' : ''}${formatCount(change)}`
}
