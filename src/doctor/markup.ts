// HTML template tags: every inserted value is escaped unless it is markup itself.

export type Markup = { readonly markup: string }

export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return { markup: texts.reduce((page, text, index) => page + markupOf(values[index - 1] ?? '') + text) }
}

type Value = string | number | Markup | readonly Markup[]

function markupOf(value: Value): string {
  if (typeof value === 'string') return escapeText(value)
  if (typeof value === 'number') return String(value)
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('')
}

const entities: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
