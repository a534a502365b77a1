// Describes base64 by what it encodes: an image, a sound, a document.

/** First characters of each type in base64. */
const BEGINNINGS: readonly (readonly [string, string])[] = [
  ['iVBORw0KGgo', 'PNG image'],
  ['/9j/', 'JPEG image'],
  ['R0lGOD', 'GIF image'],
  ['UklGR', 'WebP image or WAV audio'],
  ['JVBERi', 'PDF document'],
  ['UEsDB', 'ZIP archive or Office document'],
  ['H4sI', 'gzip archive'],
  ['SUQz', 'MP3 audio'],
  ['T2dnUw', 'Ogg audio'],
  ['PD94bWw', 'XML document'],
]

/** Describes base64 in one phrase, such as `[base64 of a PNG image, 48,204 bytes]`. */
export function describeBase64(text: string): string {
  const [, named] = /^data:([\w.+/-]{1,100});base64,/.exec(text.slice(0, 200)) ?? []
  const body = text.slice(named === undefined ? 0 : text.indexOf(',') + 1)
  const known = BEGINNINGS.find(([beginning]) => body.startsWith(beginning))?.[1]
  const what = named ?? known ?? 'binary data'
  const bytes = Math.floor((body.length * 3) / 4)
  return `[base64 of ${/^[aeiou]/i.test(what) ? 'an' : 'a'} ${what}, ${bytes.toLocaleString('en-US')} bytes]`
}
