// The fields of a form, from a schema.
import { useId } from 'preact/hooks'
import { type FormField, type FormProblem, type FormValue, valueFor } from '../../model/index.ts'
import { Foreign } from '../ui/index.ts'

/** Properties of a field. */
export type FieldProps = {
  readonly field: FormField
  readonly value: FormValue
  readonly onChange: (value: FormValue) => void
  readonly path: string
  readonly problems: readonly FormProblem[]
}

/** Draws a field. The fields of an object are drawn without a frame at the top, and as a group inside. */
export function SchemaForm(props: FieldProps) {
  const { field } = props
  if (field.kind === 'object') return <ObjectFields {...props} field={field} />
  if (field.kind === 'list') return <ListFields {...props} item={field.item} />
  return <Leaf {...props} />
}

function ObjectFields({
  field,
  value,
  onChange,
  path,
  problems,
}: FieldProps & { field: FormField & { kind: 'object' } }) {
  const own = (typeof value === 'object' && !Array.isArray(value) ? value : {}) as {
    [name: string]: FormValue
  }
  const fields = field.fields.map(({ name, field: inner }) => (
    <SchemaForm
      key={name}
      field={inner}
      value={Object.hasOwn(own, name) ? (own[name] ?? '') : ''}
      onChange={(next) => onChange({ ...own, [name]: next })}
      path={path === '' ? name : `${path}.${name}`}
      problems={problems}
    />
  ))
  if (path === '')
    return <div class="fields">{fields.length > 0 ? fields : <p class="hint">It takes no input.</p>}</div>
  return (
    <fieldset>
      <Legend field={field} />
      {fields}
    </fieldset>
  )
}

function Legend({ field }: { readonly field: FormField }) {
  return (
    <legend>
      <Foreign text={field.title || 'item'} limit={80} />
      {field.isRequired ? <span class="required"> required</span> : null}
      {field.description !== '' && (
        <span class="hint">
          {' '}
          <Foreign text={field.description} limit={400} />
        </span>
      )}
    </legend>
  )
}

const MAX_ITEMS = 100

function ListFields({ field, item, value, onChange, path, problems }: FieldProps & { item: FormField }) {
  const items = (Array.isArray(value) ? value : []) as readonly FormValue[]
  const replace = (at: number, next: FormValue) =>
    onChange(items.map((one, index) => (index === at ? next : one)))
  return (
    <fieldset>
      <Legend field={field} />
      {items.map((one, at) => (
        <div class="item" key={at}>
          <SchemaForm
            field={{ ...item, title: item.title || `${at + 1}` }}
            value={one}
            onChange={(next) => replace(at, next)}
            path={`${path}[${at}]`}
            problems={problems}
          />
          <button
            type="button"
            class="quiet"
            aria-label={`Remove item ${at + 1} of ${field.title}`}
            onClick={() => onChange(items.filter((_, index) => index !== at))}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        class="quiet"
        disabled={items.length >= MAX_ITEMS}
        onClick={() => onChange([...items, valueFor(item)])}
      >
        Add to {field.title || 'the list'}
      </button>
    </fieldset>
  )
}

function Leaf({ field, value, onChange, path, problems }: FieldProps) {
  const id = useId()
  const problem = problems.find((one) => one.path === path)
  const about = field.description !== '' || field.kind === 'json' || problem !== undefined
  return (
    <div class="field">
      <label for={id}>
        <Foreign text={field.title || 'value'} limit={80} />
        {field.isRequired && <span class="required"> required</span>}
      </label>
      <Control
        field={field}
        value={typeof value === 'string' ? value : ''}
        onChange={onChange}
        id={id}
        about={about ? `${id}-about` : undefined}
        isWrong={problem !== undefined}
      />
      {about && (
        <p class="hint" id={`${id}-about`}>
          {problem && <span class="bad">{problem.message} </span>}
          {field.kind === 'json' && <>As JSON, because {field.why}. </>}
          <Foreign text={field.description} limit={600} />
        </p>
      )}
    </div>
  )
}

type ControlProps = {
  readonly field: FormField
  readonly value: string
  readonly onChange: (value: string) => void
  readonly id: string
  readonly about: string | undefined
  readonly isWrong: boolean
}

function Control({ field, value, onChange, id, about, isWrong }: ControlProps) {
  const common = { id, 'aria-describedby': about, 'aria-invalid': isWrong, 'aria-required': field.isRequired }
  if (field.kind === 'choice' || field.kind === 'boolean') {
    const choices = field.kind === 'choice' ? field.choices : ['true', 'false']
    return (
      <select {...common} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">–</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice.replace(/^"(.*)"$/, '$1')}
          </option>
        ))}
      </select>
    )
  }
  if (field.kind === 'number')
    return (
      <input
        {...common}
        type="text"
        inputMode={field.isInteger ? 'numeric' : 'decimal'}
        class="number"
        value={value}
        placeholder={limitsText(field)}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    )
  const rows = field.kind === 'json' ? 4 : Math.min(8, value.split('\n').length)
  return (
    <textarea
      {...common}
      class={field.kind === 'json' ? 'json' : undefined}
      rows={rows}
      value={value}
      placeholder={field.kind === 'text' ? field.format : ''}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  )
}

function limitsText({ min, max }: { readonly min?: number; readonly max?: number }): string {
  if (min !== undefined && max !== undefined) return `${min} to ${max}`
  return min !== undefined ? `at least ${min}` : max !== undefined ? `at most ${max}` : ''
}
