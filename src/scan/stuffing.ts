// Detects descriptions made to win every search: keyword lists, repetition, the names of many services.
import { excerpt, type TextFinding } from './suspicion.ts'

/** Shorter texts are not checked: they cannot hold enough keywords to matter. */
const MIN_LENGTH = 100

/** Finds keyword lists, repeated words and long lists of service names in a text. */
export function findStuffing(text: string, where: string): TextFinding[] {
  if (text.length < MIN_LENGTH) return []
  const keywords = longestList(text)
  const services = [...new Set(wordsIn(text))].filter((word) => SERVICES.has(word))
  const { word, count, share } = mostRepeated(text)
  const finding = (level: TextFinding['level'], message: string, shown: string): TextFinding => ({
    kind: 'stuffing',
    level,
    where,
    message,
    excerpt: excerpt(shown, 0, shown.length),
  })
  const findings: TextFinding[] = []
  if (keywords.length >= 25)
    findings.push(
      finding(
        keywords.length >= 50 ? 'warn' : 'note',
        `it lists ${keywords.length} keywords`,
        keywords.join(','),
      ),
    )
  if (services.length >= 7)
    findings.push(
      finding(
        services.length >= 15 ? 'warn' : 'note',
        `it names ${services.length} services`,
        services.join(', '),
      ),
    )
  // Schemas are exempt, because the values of an argument often share a word.
  if (count >= 12 && share >= 0.2 && !where.includes('Schema'))
    findings.push(
      finding(count >= 20 && share >= 0.25 ? 'warn' : 'note', `it says "${word}" ${count} times`, text),
    )
  return findings
}

/** The longest run of short lower-case words between commas: not names, codes or identifiers. */
function longestList(text: string): readonly string[] {
  let longest: string[] = []
  let row: string[] = []
  for (const item of text.split(/[,;|•·]|\.\s/)) {
    if (item.length < 40 && /^(?: ?[\p{Ll}\p{Lo}'-]{2,}){1,3} ?$/u.test(item)) row.push(item)
    else row = []
    if (row.length > longest.length) longest = row
  }
  return longest
}

const SERVICES = new Set(
  [
    'github gitlab bitbucket slack discord telegram whatsapp notion jira confluence linear asana trello clickup todoist',
    'airtable salesforce hubspot zendesk intercom stripe paypal shopify gmail outlook zoom dropbox onedrive sharepoint',
    'figma miro canva spotify youtube twitter facebook instagram linkedin reddit pinterest tiktok aws azure gcp',
    'kubernetes docker terraform datadog grafana sentry pagerduty postgres mysql mongodb redis elasticsearch snowflake',
    'bigquery supabase firebase vercel netlify cloudflare twilio sendgrid mailchimp wordpress webflow',
  ].flatMap((line) => line.split(' ')),
)

function mostRepeated(text: string): { word: string; count: number; share: number } {
  const all = wordsIn(text).filter((word) => word.length > 3)
  const counts = new Map<string, number>()
  let [word, count] = ['', 0]
  for (const one of all) {
    const times = (counts.get(one) ?? 0) + 1
    counts.set(one, times)
    if (times > count) [word, count] = [one, times]
  }
  return { word, count, share: count / (all.length || 1) }
}

function wordsIn(text: string): readonly string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? []
}
