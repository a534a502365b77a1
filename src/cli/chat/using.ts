// `/using`: shows and switches what helps the model use tools it cannot see, with what it did and why.
import { preloadedIn } from '../../agent/index.ts'
import type { AgentSession } from '../session/index.ts'
import { type OutputLine, withLabel } from './output-line.ts'

const USAGE =
  'To switch: /using remind 3 · /using preload off · /using learn on · /using forget <tool> · /using remember <tool>'

/** Runs the command and returns its output. */
export function usingLines(words: string, session: AgentSession): OutputLine[] {
  const [way, value] = words.split(/\s+/)
  return way === '' || way === undefined ? shown(session) : switched(way, value, session)
}

function shown({ using, agent }: AgentSession): OutputLine[] {
  const { describe, remind, preload, learn } = using.options()
  const learned = using.learnedTools()
  return [
    row(
      'describe',
      describe > 0 ? `${describe} characters with each deferred name` : 'off; start with --describe 60',
    ),
    row('remind', remind > 0 ? `${remind} deferred tools that fit, with each message` : 'off'),
    ...because(using.reminded(), 'fits your last message'),
    row('preload', preload ? 'tools that your message names are loaded at once' : 'off'),
    ...because([...new Set(preloadedIn(agent.messages))], 'named in your message'),
    row('learn', learn ? 'tools that most sessions load stay loaded where that is cheaper' : 'off'),
    ...learned.flatMap(({ tool, reason }) => because([tool], reason)),
    withLabel('To switch:', switchesFor(using).join(' · '), 10),
  ]
}

/** The options that have an effect. */
function switchesFor(using: AgentSession['using']): string[] {
  const { remind, preload, learn } = using.options()
  const [first] = using.learnedTools()
  return [
    `/using remind ${remind > 0 ? 0 : 3}`,
    `/using preload ${preload ? 'off' : 'on'}`,
    `/using learn ${learn ? 'off' : 'on'}`,
    ...(learn && first ? [`/using forget ${first.tool}`] : []),
    ...(learn ? ['/using remember <tool>'] : []),
  ]
}

function switched(way: string, value: string | undefined, { using }: AgentSession): string[] {
  if (way === 'remind' && value !== undefined && /^\d{1,2}$/.test(value)) {
    using.switch({ remind: Number(value) })
    return [`From your next message on: ${value === '0' ? 'no reminders' : `${value} deferred tools named`}.`]
  }
  if ((way === 'preload' || way === 'learn') && (value === 'on' || value === 'off')) {
    using.switch(way === 'preload' ? { preload: value === 'on' } : { learn: value === 'on' })
    return [
      `${way} is ${value}${way === 'learn' ? '; what is loaded already stays so in this session' : ''}.`,
    ]
  }
  if ((way === 'forget' || way === 'remember') && value) {
    if (!using.options().learn) return ['Learning is off: start with --learn, or type /using learn on.']
    using[way](value)
    return [
      way === 'forget'
        ? `${value} is no longer kept loaded, from the next session on.`
        : `${value} may be kept loaded again.`,
    ]
  }
  return [USAGE]
}

function row(way: string, text: string): OutputLine {
  return withLabel(way, text, 10)
}

function because(tools: readonly string[], reason: string): OutputLine[] {
  return tools.map((tool) => row('', `${tool}: ${reason}`))
}
