// Tokens by server and tool as areas. The same figures are in the table below and in the list for screen readers.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ToolView } from '../../api.ts'
import { type Area, squarify } from '../../model/index.ts'
import { linkTo } from '../app/index.ts'
import { Foreign, formatCount, plural, shortCount } from '../ui/index.ts'

/** Tools drawn in one server's area; the rest share one. */
const MAX_TOOLS = 150
const MAX_SERVERS = 40
const HEAD = 22
const SMALLEST_LABEL = { width: 56, height: 20 }

type Group = { readonly name: string; readonly tools: readonly ToolView[]; readonly tokens: number }

export function Treemap({
  tools,
  server,
  onServer,
}: {
  readonly tools: readonly ToolView[]
  readonly server: string | undefined
  readonly onServer: (server: string | undefined) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const height = width < 600 ? 360 : 420
  const groups = groupsOf(tools)
  const shown = server === undefined ? groups : groups.filter(({ name }) => name === server)
  const areas = squarify(
    shown.map(({ tokens }) => tokens),
    { x: 0, y: 0, width, height },
  )
  return (
    <>
      {server !== undefined && (
        <p>
          <button type="button" onClick={() => onServer(undefined)}>
            Show all servers
          </button>
        </p>
      )}
      <section
        class="treemap"
        ref={box}
        style={{ height: `${height}px` }}
        aria-label="Tokens by server and tool"
      >
        {shown.map((group, at) => {
          const area = areas[at]
          return (
            area && (
              <GroupArea key={group.name} group={group} area={area} onServer={() => onServer(group.name)} />
            )
          )
        })}
      </section>
    </>
  )
}

function useWidth(box: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(800)
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.max(100, box.current?.clientWidth ?? 800))
    measure()
    const observer = new ResizeObserver(measure)
    if (box.current) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  return width
}

function groupsOf(tools: readonly ToolView[]): readonly Group[] {
  const byServer = new Map<string, ToolView[]>()
  for (const tool of tools) {
    const own = byServer.get(tool.server ?? '') ?? []
    byServer.set(tool.server ?? '', own)
    own.push(tool)
  }
  const groups = [...byServer].map(([name, own]) => ({
    name,
    tools: own.sort((a, b) => b.tokens - a.tokens),
    tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
  }))
  return groups.sort((a, b) => b.tokens - a.tokens).slice(0, MAX_SERVERS)
}

const place = ({ x, y, width, height }: Area) => ({
  left: `${x}px`,
  top: `${y}px`,
  width: `${Math.max(0, width - 1)}px`,
  height: `${Math.max(0, height - 1)}px`,
})

function GroupArea({ group, area, onServer }: { group: Group; area: Area; onServer: () => void }) {
  const { name, tools, tokens } = group
  const hasHead = area.height > HEAD * 2 && area.width > SMALLEST_LABEL.width
  const shown = tools.slice(0, MAX_TOOLS)
  const rest = tools.slice(MAX_TOOLS).reduce((sum, tool) => sum + tool.tokens, 0)
  const inner = {
    x: 0,
    y: hasHead ? HEAD : 0,
    width: area.width - 1,
    height: area.height - 1 - (hasHead ? HEAD : 0),
  }
  const areas = squarify([...shown.map((tool) => tool.tokens), rest], inner)
  return (
    <div class="group" style={place(area)}>
      {hasHead && (
        <button
          type="button"
          class="link"
          onClick={onServer}
          title={`${name}: ${formatCount(tokens)} tokens`}
        >
          <Foreign text={name || 'built in'} limit={60} /> <span class="amount">{shortCount(tokens)}</span>
        </button>
      )}
      {shown.map((tool, at) => areas[at] && <ToolArea key={tool.name} tool={tool} area={areas[at]} />)}
      {areas[shown.length] && (
        <span
          class="tile rest"
          style={place(areas[shown.length]!)}
          title={plural(tools.length - MAX_TOOLS, 'more tool')}
        />
      )}
    </div>
  )
}

function ToolArea({ tool, area }: { readonly tool: ToolView; readonly area: Area }) {
  const { name, original, tokens, isAlwaysLoaded } = tool
  const hasLabel = area.width > SMALLEST_LABEL.width && area.height > SMALLEST_LABEL.height
  const label = `${name}: ${formatCount(tokens)} tokens${isAlwaysLoaded ? ', always loaded' : ''}`
  return (
    <a
      class={isAlwaysLoaded ? 'tile always' : 'tile'}
      style={place(area)}
      href={linkTo('search', [], { expected: name })}
      title={label}
      {...(hasLabel ? {} : { 'aria-label': label })}
      // Tools too small to be read are reached by the list of tools instead.
      tabIndex={hasLabel ? 0 : -1}
    >
      {hasLabel && (
        <>
          <Foreign text={original || name} limit={40} />
          {area.height > 2 * SMALLEST_LABEL.height && <span class="amount">{shortCount(tokens)}</span>}
        </>
      )}
    </a>
  )
}
