// Servers: a list with their states, and one in full.
import type { ServerView } from '../../api.ts'
import { linkTo, type Route } from '../app/route.ts'
import { useApp } from '../app/state.ts'
import { plural, shortCount } from '../ui/format.ts'
import { CommandLine, Empty, ErrorNote } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'
import { ServerDetail } from './server.tsx'
import { STATE_TONES } from './states.ts'

const ROW = 58

export function ServersPage({ route }: { readonly route: Route }) {
  const { servers } = useApp()
  const [name = ''] = route.parts
  const list = servers.value ?? []
  const server = list.find((one) => one.name === name)
  if (servers.value && list.length === 0)
    return (
      <Empty title="There are no servers">
        <p>Add one, or bring those of your other clients:</p>
        <CommandLine text="toolshelf connect" />
        <CommandLine text="toolshelf add files -- npx -y @modelcontextprotocol/server-filesystem ." />
      </Empty>
    )
  return (
    <div class={`panes two at-${server ? 'turn' : 'list'}`}>
      <div class="pane list">
        <header class="pane-head">
          <h2>{servers.value ? plural(list.length, 'server') : 'Servers'}</h2>
        </header>
        <ErrorNote text={servers.error} />
        <VirtualList
          items={list}
          rowHeight={ROW}
          label="Servers"
          keyOf={(one) => one.name}
          current={list.findIndex((one) => one.name === name)}
        >
          {(one) => <ServerRow server={one} isCurrent={one.name === name} />}
        </VirtualList>
      </div>
      <div class="pane main">
        {server ? (
          <ServerDetail key={server.name} server={server} />
        ) : (
          <Empty title={name === '' || !servers.value ? 'Choose a server' : 'This server is not here'}>
            <p>Its state, its tools, its log and what changed in its texts appear here.</p>
          </Empty>
        )}
      </div>
    </div>
  )
}

function ServerRow({ server, isCurrent }: { readonly server: ServerView; readonly isCurrent: boolean }) {
  const { name, state, tools, tokens, changes, problems } = server
  return (
    <a class="row" href={linkTo('servers', [name])} aria-current={isCurrent ? 'true' : undefined}>
      <span class="first">
        <strong>
          <Foreign text={name} limit={60} />
        </strong>
        <span class={`state ${STATE_TONES[state]}`}>{state}</span>
      </span>
      <span class="facts">
        <span>{plural(tools, 'tool')}</span>
        <span>{shortCount(tokens)} tokens</span>
        {changes.length > 0 && <span class="warn">{plural(changes.length, 'change')}</span>}
        {problems.length > 0 && <span class="warn">{plural(problems.length, 'problem')}</span>}
      </span>
    </a>
  )
}
