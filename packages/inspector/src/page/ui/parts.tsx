// Small parts that several pages use: headings with a figure, empty states, errors, badges.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ScrollRegion } from './scroll.tsx'

/** Says why there is nothing here and what to do next. */
export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** An error message; nothing if the text is empty. */
export function ErrorNote({ text }: { readonly text: string }) {
  return text === '' ? null : (
    <p class="error" role="alert">
      {text}
    </p>
  )
}

/** How good or bad something is, as a colour. */
export type Tone = 'good' | 'warn' | 'bad' | 'plain'

/** A short label in a colour. */
export function Badge({
  tone = 'plain',
  children,
}: {
  readonly tone?: Tone
  readonly children: ComponentChildren
}) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** A figure with what it counts. */
export function Figure({
  label,
  value,
  detail,
  tone = 'plain',
}: {
  readonly label: string
  readonly value: ComponentChildren
  readonly detail?: ComponentChildren
  readonly tone?: Tone
}) {
  return (
    <div class={`figure ${tone}`}>
      <dt>{label}</dt>
      <dd>
        <strong>{value}</strong>
        {detail !== undefined && <span>{detail}</span>}
      </dd>
    </div>
  )
}

/** A part of a page with a heading. */
export function Section({
  title,
  aside,
  children,
  level = 3,
}: {
  readonly title: string
  /** 2 on a page of sections, 3 below the heading of a pane. */
  readonly level?: 2 | 3
  readonly aside?: ComponentChildren
  readonly children: ComponentChildren
}) {
  return (
    <section class="section" aria-label={title}>
      <header>
        {level === 2 ? <h2>{title}</h2> : <h3>{title}</h3>}
        {aside}
      </header>
      {children}
    </section>
  )
}

/** A command that can be copied. */
export function CommandLine({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <p class="command">
      <code>{text}</code>
      <button type="button" class="quiet" onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </p>
  )
}

/** A table that scrolls sideways where it does not fit. */
export function DataTable({
  label,
  head,
  children,
}: {
  readonly label: string
  readonly head: readonly { readonly text: string; readonly isNumber?: boolean }[]
  readonly children: ComponentChildren
}) {
  return (
    <ScrollRegion class="scroll" label={label}>
      <table>
        <thead>
          <tr>
            {head.map(({ text, isNumber }) => (
              <th key={text} scope="col" class={isNumber ? 'number' : undefined}>
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </ScrollRegion>
  )
}
