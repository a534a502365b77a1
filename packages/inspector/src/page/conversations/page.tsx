// Conversations: a list, the turns of one, and one turn in full.
import { linkTo, type Route } from '../app/route.ts'
import { shownModel, useApp } from '../app/state.ts'
import { CommandLine, Empty } from '../ui/parts.tsx'
import { ConversationList } from './list.tsx'
import { OpenFile } from './open-file.tsx'
import { Timeline } from './timeline.tsx'
import { TurnDetail } from './turn.tsx'

export function ConversationsPage({ route }: { readonly route: Route }) {
  const state = useApp()
  const model = shownModel(state)
  const conversations = model.conversations()
  const [id = '', turnText] = route.parts
  const known = conversations.find((one) => one.id === id)
  const turns = known ? model.turns(id) : []
  const at = turnText === undefined ? -1 : Number(turnText) - 1
  const turn = turns[at]
  if (conversations.length === 0) return <NoConversations />
  const depth = turn ? 'turn' : known ? 'conversation' : 'list'
  return (
    <div class={`panes three at-${depth}`}>
      <div class="pane list">
        <ConversationList conversations={conversations} current={id} />
      </div>
      <div class="pane middle">
        {known ? (
          <Timeline summary={known} turns={turns} current={at} />
        ) : (
          <Empty title={id === '' ? 'Choose a conversation' : 'This conversation is not here'}>
            <p>
              {id === ''
                ? 'Its turns appear here: what the model could see, what it searched for and called.'
                : 'It may be older than the events that are kept, or in another recording.'}
            </p>
          </Empty>
        )}
      </div>
      <div class="pane main">
        {turn && known ? (
          <TurnDetail id={id} turn={turn} turns={turns} model={model} compare={route.query.get('compare')} />
        ) : (
          known && (
            <Empty title="Choose a turn">
              <p>
                <a href={linkTo('conversations', [id, 1])}>Open the first one</a>, or use the arrow keys in
                the list.
              </p>
            </Empty>
          )
        )}
      </div>
    </div>
  )
}

function NoConversations() {
  const { connection, about, opened, received } = useApp()
  if (connection === 'connecting' || connection === 'reading')
    return (
      <Empty title="Reading the recorded events…">
        <p>{received > 0 ? 'They will appear as soon as the first conversation is complete.' : ''}</p>
      </Empty>
    )
  const advice = connection === 'hidden' ? undefined : about.value?.recording.advice
  return (
    <Empty title={titleOf(opened !== undefined, connection === 'hidden')}>
      {!opened && connection === 'hidden' && (
        <p>Your profile hides servers or tools, and conversations of others name them.</p>
      )}
      {!opened && advice && (
        <>
          <p>Record one by starting Toolshelf like this, then use your agent as always:</p>
          <CommandLine text={advice} />
        </>
      )}
      <p>
        Or open a file that was recorded with <code>--audit</code>, or exported from this page:
      </p>
      <OpenFile />
    </Empty>
  )
}

function titleOf(isFile: boolean, isHidden: boolean): string {
  if (isFile) return 'This file has no conversations'
  return isHidden ? 'You cannot see what others did' : 'Nothing is recorded yet'
}
