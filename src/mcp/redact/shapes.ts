// Decides by its name and its shape whether a value is a secret.
import { splitName } from '../../lib/index.ts'

/** Shortest setting to hide under a secret's name, in characters: hiding shorter ones would garble other texts. */
const MIN_NAMED_LENGTH = 4
/** Shortest setting to hide under any other name. */
const MIN_LENGTH = 6

/** Returns whether the name of a variable, header, flag, parameter or JSON key says that its value is a secret. */
export function isSecretName(name: string): boolean {
  const words = splitName(name)
  if (isPublicName(name)) return false
  return SECRET_PART.test(words.join('')) || words.some((word) => SECRET_WORDS.has(word))
}

const SECRET_PART =
  /key|token|secret|passw|passphrase|credential|auth|bearer|cookie|jwt|signature|mnemonic|webhook/
const SECRET_WORDS = new Set('pass pwd pw pat pin otp sid sig dsn seed creds cred private session'.split(' '))
/** Whether a name is that of a plain setting, even if it mentions a secret: `AWS_REGION`, `TOKEN_URL`, `KEY_FILE`. */
function isPublicName(name: string): boolean {
  return PUBLIC_ENDINGS.has(splitName(name).at(-1) ?? '') || /^max(?:imum)?[-_]?tokens$/i.test(name)
}

const PUBLIC_ENDINGS = new Set(
  `type mode url uri host port path file dir folder method header name enabled required scheme version region zone
  endpoint issuer audience scope scopes algorithm limit count size ttl timeout expiry length model language locale
  level format stage`.split(/\s+/),
)

/**
 * Returns whether a value given as a setting (`env`, `headers`, `${}`, `NAME=value`) must be hidden: everything of six
 * characters or more (four under a secret's name) that looks like a key or is not harmless. Unless the name says secret,
 * short words and numbers stay too, and identifiers under a public name.
 */
export function isSecretSetting(value: string, name: string): boolean {
  const isNamed = isSecretName(name)
  if (value.length < (isNamed ? MIN_NAMED_LENGTH : MIN_LENGTH)) return false
  if (isKeyLike(value)) return true
  return (
    !isHarmless(value) && (isNamed || !(isOrdinary(value) || (isPublicName(name) && isIdentifier(value))))
  )
}

/** Returns whether a bare word of a command line looks like a secret. */
export function isSecretWord(word: string): boolean {
  return isKeyLike(word) || (SELF_NAMED.test(word) && word.length >= 8 && !isHarmless(word))
}

const SELF_NAMED = /secret|token|passw|api[-_]?key|credential/i

/** Returns whether a word looks generated: it has a vendor's prefix, or a part that is dense (see `isDense`). */
export function isKeyLike(word: string): boolean {
  if (word.length < 10 || /\s/.test(word) || isProgramPath(word)) return false
  if (VENDOR.test(word)) return true
  return word.length >= 12 && word.split(/[^A-Za-z0-9]+/).some(isDense)
}

const VENDOR =
  /^(?:(?:sk|pk|rk|gh[pousr]|github_pat|glpat|xox[a-z]|hf|npm|ntn|shp[a-z]{2}|figd|lin_api|dop_v1|tok|key|pat)[-_](?=[\w.-]*\d)|AKIA|ASIA|AIza|ya29\.|eyJ|SG\.)[\w.~+/=-]{6,}$/

/** Whether a part is ten digits or more, or eight characters that mix letters and digits; `model2024` is neither. */
function isDense(part: string): boolean {
  const digits = part.replace(/\D/g, '').length
  const letters = part.length - digits
  if (digits === 0) return false
  if (letters === 0) return part.length >= 10
  return part.length >= 8 && digits >= 2 && letters >= 2 && !/^[A-Za-z]+\d{1,4}$/.test(part)
}

/** Whether it is a package or path of words and versions: `@scope/package@1.2.3`, `./server/index.js`, `/opt/tool`. */
function isProgramPath(word: string): boolean {
  return /^[@./~]|^[A-Za-z]:[\\/]/.test(word) && !word.split(/[@/\\.:_-]+/).some(isDense)
}

/** Returns whether a value is harmless under any name: a common word, region, host, path, date or version, nothing dense. */
export function isHarmless(value: string): boolean {
  if (COMMON_WORDS.has(value.toLowerCase())) return true
  return HARMLESS_SHAPES.some((shape) => shape.test(value)) && !value.split(/[^A-Za-z0-9]+/).some(isDense)
}

/** Whether a value is harmless unless its name says secret: a short word, a number, a duration, a size. */
function isOrdinary(value: string): boolean {
  return /^(?:[A-Za-z]?[a-z]{1,8}|[A-Z]{1,8}|[+-]?\d{1,5}(?:\.\d{1,4})?|\d+(?:\.\d+)?\s?(?:ms|s|m|h|d|[kmg]?i?b|%))$/i.test(
    value,
  )
}

/** Whether a value is letters and digits with single separators: `my-project`, `gpt-4o-mini`. */
function isIdentifier(value: string): boolean {
  return value.length <= 64 && /^[A-Za-z0-9]+(?:[-_.:/][A-Za-z0-9]+)*$/.test(value)
}

const HARMLESS_SHAPES: readonly RegExp[] = [
  // Regions of clouds: us-east-1, eu-central-1a, us-gov-west-1, europe-west4, us-central1-a, eastus2.
  /^(?:[a-z]{2}(?:-(?:gov|iso[a-z]?))?|africa|asia|australia|europe|me|northamerica|southamerica)-(?:(?:north|south|east|west|central)+)-?\d{1,2}(?:-?[a-z])?$/,
  /^(?:north|south|east|west|central|us|eu|uk|asia|europe|japan|korea|india|brazil|canada|australia|france|germany)+\d?$/,
  // Locales and time zones.
  /^[a-z]{2}[-_][A-Z]{2}(?:\.[A-Za-z0-9-]{3,10})?$/,
  /^(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)\/[A-Za-z_]+(?:\/[A-Za-z_]+)?$/,
  // Dates and versions.
  /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?$/,
  /^v?\d{1,4}(?:\.\d{1,5}){1,3}(?:-[a-z]{2,6}(?:\.\d{1,3})?)?$/,
  // IP addresses, hosts, and URLs with nothing but a host.
  /^\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?$/,
  /^localhost(?::\d{1,5})?$/,
  /^(?:[a-z0-9-]{1,40}\.)+(?:com|org|net|io|dev|ai|app|cloud|co|de|uk|eu|us|fr|jp|cn|local|internal|lan|test|example)(?::\d{1,5})?$/,
  /^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?\/?$/,
  // Paths and names of files.
  /^(?:~|\.{1,2})?\/[\w.@+ /-]*$/,
  /^[A-Za-z]:[\\/][\w.@+ \\/-]*$/,
  /^[\w-]+\.(?:json|ya?ml|toml|txt|db|sqlite|md|csv|log|pem|js|mjs|ts|py|sh)$/,
  // Media types.
  /^(?:application|text|image|audio|video)\/[a-z0-9.+*-]+$/,
]

const COMMON_WORDS = new Set(
  `true false yes no on off none null undefined default auto automatic enabled disabled enable disable always never
  debug info notice warn warning error trace verbose silent quiet fatal critical
  development production staging preview testing sandbox local localhost global
  json text plain markdown html xml yaml stdio http https sse streamable websocket
  utf-8 utf8 ascii latin1 base64 read write readonly read-only read_only readwrite read-write
  basic bearer digest oauth oauth2 anonymous public private internal external
  linux darwin windows win32 docker postgres postgresql mysql sqlite redis mongodb
  anthropic openai github gitlab google azure amazon bedrock vertex`.split(/\s+/),
)
