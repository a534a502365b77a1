// The tools of a server, as links to the search that should find them.
import type { ToolView } from '../../api.ts'
import { linkTo } from '../app/route.ts'
import { shortCount } from '../ui/format.ts'
import { Foreign } from '../ui/text.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'

const ROW = 32

export function ToolList({ tools }: { readonly tools: readonly ToolView[] }) {
  return (
    <VirtualList items={tools} rowHeight={ROW} maxHeight={10 * ROW} label="Tools" keyOf={({ name }) => name}>
      {({ name, original, tokens }) => (
        <a class="row small" href={linkTo('search', [], { expected: name })}>
          <span class="first">
            <strong>
              <Foreign text={original || name} limit={80} />
            </strong>
            <span class="amount">{shortCount(tokens)}</span>
          </span>
        </a>
      )}
    </VirtualList>
  )
}
