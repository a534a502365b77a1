// Try a tool: a form from its schema, the call, the result. A tool that may change something asks first.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { type CallInput, type CallView, endpoints, type ToolView } from '../../api.ts'
import { buildValue, type FormValue, formFor, valueFor } from '../../model/index.ts'
import { goTo, linkTo, messageOf, RequestError, type Route, useApp, useAppHandle } from '../app/index.ts'
import { ToolList, ToolPicker } from '../tools/index.ts'
import {
  Badge,
  Dialog,
  Empty,
  ErrorNote,
  Foreign,
  ForeignBlock,
  formatCount,
  JsonBlock,
  plural,
  Section,
} from '../ui/index.ts'
import { SchemaForm } from './form.tsx'
import { CallResult } from './result.tsx'

export function TryPage({ route }: { readonly route: Route }) {
  const { tools, about } = useApp()
  const [name = ''] = route.parts
  const tool = tools.value?.find((one) => one.name === name)
  if (tools.value?.length === 0)
    return (
      <Empty title="There are no tools">
        <p>
          Add a server with <code>toolshelf add</code>, or see under <a href={linkTo('servers')}>Servers</a>{' '}
          why none is connected.
        </p>
      </Empty>
    )
  return (
    <div class={`panes two at-${tool ? 'turn' : 'list'}`}>
      <div class="pane list">
        <header class="pane-head">
          <h2>{tools.value ? plural(tools.value.length, 'tool') : 'Tools'}</h2>
        </header>
        <ErrorNote text={tools.error} />
        <ToolPicker
          label="Find"
          placeholder="name of a tool"
          value={name}
          onPick={(next) => goTo(linkTo('try', next === '' ? [] : [next]))}
        />
        <ToolList tools={tools.value ?? []} current={name} />
      </div>
      <div class="pane main">
        {tool ? (
          <ToolForm key={tool.name} tool={tool} canCall={about.value?.can.call === true} />
        ) : (
          <Empty title={name === '' || !tools.value ? 'Choose a tool' : 'This tool is not here'}>
            <p>Its form appears here. Tools that only read run at once; others ask first.</p>
          </Empty>
        )}
      </div>
    </div>
  )
}

function ToolForm({ tool, canCall }: { readonly tool: ToolView; readonly canCall: boolean }) {
  const form = useMemo(() => formFor(tool.inputSchema), [tool])
  const [value, setValue] = useState<FormValue>(() => valueFor(form))
  const [json, setJson] = useState<string | undefined>()
  const { run, confirm, result, error, isRunning, isAsking, decline } = useCall(tool)
  const built = json === undefined ? buildValue(form, value) : parsed(json)
  const [isChecked, setChecked] = useState(false)
  const problems = isChecked ? built.problems : []
  const submit = (event: Event) => {
    event.preventDefault()
    setChecked(true)
    if (built.problems.length === 0) run(built.value ?? {})
  }
  const toggle = () =>
    setJson(json === undefined ? JSON.stringify(built.value ?? {}, undefined, 2) : undefined)
  return (
    <article class="tool">
      <ToolHead tool={tool} />
      <form onSubmit={submit} noValidate>
        <Section
          title="Input"
          aside={
            <button type="button" class="quiet" aria-pressed={json !== undefined} onClick={toggle}>
              {json === undefined ? 'Edit as JSON' : 'Back to the form'}
            </button>
          }
        >
          {json === undefined ? (
            <SchemaForm field={form} value={value} onChange={setValue} path="" problems={problems} />
          ) : (
            <textarea
              class="json"
              rows={10}
              aria-label="Input as JSON"
              value={json}
              spellcheck={false}
              onInput={(event) => setJson(event.currentTarget.value)}
            />
          )}
          {problems.length > 0 && (
            <ul class="error" role="alert">
              {problems.map(({ path, message }) => (
                <li key={path}>
                  {path === '' ? 'The input' : path} {message}
                </li>
              ))}
            </ul>
          )}
          <div class="buttons">
            <button type="submit" class="primary" disabled={!canCall || isRunning}>
              {isRunning ? 'Running…' : tool.isReadOnly ? 'Run' : 'Run…'}
            </button>
            {!canCall && <span class="hint">Tools cannot be run from here.</span>}
          </div>
        </Section>
      </form>
      <ErrorNote text={error} />
      {isAsking && (
        <ConfirmCall tool={tool} input={built.value ?? {}} onConfirm={confirm} onClose={decline} />
      )}
      {result && <CallResult result={result} />}
      <details>
        <summary>Schema</summary>
        <JsonBlock label="Schema of the input" value={tool.inputSchema} />
      </details>
    </article>
  )
}

function parsed(json: string) {
  try {
    return { value: JSON.parse(json) as unknown, problems: [] }
  } catch (error) {
    return { value: undefined, problems: [{ path: '', message: `is not JSON: ${messageOf(error)}` }] }
  }
}

function ToolHead({ tool }: { readonly tool: ToolView }) {
  const { name, server, original, description, tokens, isReadOnly, isAlwaysLoaded } = tool
  return (
    <header class="turn-head">
      <a class="back" href={linkTo('try')}>
        Tools
      </a>
      <h2>
        <Foreign text={original || name} limit={120} />
      </h2>
      <p class="facts">
        {server !== null && (
          <a href={linkTo('servers', [server])}>
            <Foreign text={server} limit={60} />
          </a>
        )}
        <span>{formatCount(tokens)} tokens</span>
        <Badge tone={isReadOnly ? 'good' : 'warn'}>
          {isReadOnly ? 'only reads' : 'may change something'}
        </Badge>
        {isAlwaysLoaded && <Badge>always loaded</Badge>}
        <a href={linkTo('search', [], { expected: name })}>Can it be found?</a>
      </p>
      {description !== '' && <ForeignBlock label="Description" text={description} />}
    </header>
  )
}

function ConfirmCall({
  tool,
  input,
  onConfirm,
  onClose,
}: {
  readonly tool: ToolView
  readonly input: unknown
  readonly onConfirm: () => void
  readonly onClose: () => void
}) {
  return (
    <Dialog
      title="Run this tool?"
      onClose={onClose}
      actions={
        <button type="button" class="primary" onClick={onConfirm}>
          Run it
        </button>
      }
    >
      <p>
        <code>
          <Foreign text={tool.name} limit={120} />
        </code>{' '}
        does not say that it only reads: it may write, send or delete something. It runs with this input:
      </p>
      <JsonBlock label="Input" value={input} />
    </Dialog>
  )
}

/** Calls the tool; asks first unless the tool only reads, and where the process says so. */
function useCall(tool: ToolView) {
  const { client, announce } = useAppHandle()
  const [state, setState] = useState<{ result?: CallView; error: string }>({ error: '' })
  const [isRunning, setRunning] = useState(false)
  const [asked, setAsked] = useState<{ readonly input: unknown } | undefined>()
  useEffect(() => setState({ error: '' }), [tool.name])
  const call = async (input: unknown, isConfirmed: boolean) => {
    setAsked(undefined)
    setRunning(true)
    setState({ error: '' })
    try {
      const body: CallInput = { tool: tool.name, input, isConfirmed }
      const result = await client.post<CallView>(endpoints.call, body)
      setState({ result, error: '' })
      announce(result.isError ? 'The tool reported an error' : 'The tool has answered')
    } catch (error) {
      if (error instanceof RequestError && error.status === 409 && !isConfirmed) setAsked({ input })
      else setState({ error: messageOf(error) })
    } finally {
      setRunning(false)
    }
  }
  return {
    ...state,
    isRunning,
    isAsking: asked !== undefined,
    run: (input: unknown) => (tool.isReadOnly ? void call(input, false) : setAsked({ input })),
    confirm: () => asked && void call(asked.input, true),
    decline: () => setAsked(undefined),
  }
}
