// Reads type declarations and their doc comments with the TypeScript compiler, for the generated reference pages.
import { fileURLToPath } from 'node:url'
import type { Node, SourceFile } from 'typescript/unstable/ast'
import {
  isIntersectionTypeNode,
  isMethodSignatureDeclaration,
  isParenthesizedTypeNode,
  isPropertySignatureDeclaration,
  isTypeAliasDeclaration,
  isTypeLiteralNode,
  isUnionTypeNode,
} from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/sync'

/** A field of an object type. */
export type FieldDoc = {
  readonly name: string
  readonly type: string
  readonly isOptional: boolean
  readonly about: string
  /** Names of the parameters of a method, optional ones with a question mark; undefined for a property. */
  readonly parameters?: readonly string[]
}

/** One object of a union, or the only one. */
export type VariantDoc = { readonly about: string; readonly fields: readonly FieldDoc[] }

/** A declared type: its doc comment, and the objects it may be. */
export type TypeDoc = {
  readonly name: string
  readonly about: string
  /** The declaration on one line. */
  readonly text: string
  readonly variants: readonly VariantDoc[]
}

const root = fileURLToPath(new URL('../', import.meta.url))
// A doc comment at the start of a piece of source, before or after the bar of a union.
const leadingComment = /^[\s|]*\/\*\*(.*?)\*\//s

/** Reads types by `file#Name`, with the file below packages/: `core/src/events.ts#Trace`. */
export function readTypes(places: readonly string[]): TypeDoc[] {
  const api = new API({ cwd: root })
  try {
    const snapshot = api.updateSnapshot({ openProject: `${root}scripts/type-docs.tsconfig.json` })
    const [project] = snapshot.getProjects()
    return places.map((place) => {
      const [file = '', name = ''] = place.split('#')
      const source = project?.program.getSourceFile(`${root}packages/${file}`)
      if (!source) throw new Error(`packages/${file} does not exist`)
      return typeIn(source, name)
    })
  } finally {
    api.close()
  }
}

function typeIn(source: SourceFile, name: string): TypeDoc {
  const declared = [...source.statements]
    .filter((statement) => isTypeAliasDeclaration(statement))
    .find((statement) => statement.name.text === name)
  if (!declared) throw new Error(`${source.fileName} declares no type ${name}`)
  const { text } = source
  return {
    name,
    about: commentIn(text.slice(declared.pos, declared.end)),
    text: onOneLine(sourceOf(declared.type, text)),
    variants: variantsOf(declared.type, text),
  }
}

function variantsOf(type: Node, text: string): VariantDoc[] {
  if (!isUnionTypeNode(type)) return [{ about: '', fields: fieldsOf(type, text) }]
  const members = [...type.types]
  return members.map((member, index) => {
    const from = members[index - 1]?.end ?? type.pos
    return { about: commentIn(text.slice(from, member.end)), fields: fieldsOf(member, text) }
  })
}

/** The fields of an object type; of an intersection, those of its object types. */
function fieldsOf(type: Node, text: string): FieldDoc[] {
  if (isParenthesizedTypeNode(type)) return fieldsOf(type.type, text)
  if (isIntersectionTypeNode(type)) return [...type.types].flatMap((part) => fieldsOf(part, text))
  if (!isTypeLiteralNode(type)) return []
  return [...type.members].flatMap((member) => {
    const isMethod = isMethodSignatureDeclaration(member)
    if (!isMethod && !isPropertySignatureDeclaration(member)) return []
    const about = commentIn(text.slice(member.pos, member.end))
    const shape = isMethod ? text.slice(member.name.end, member.end) : sourceOf(member.type, text)
    return [
      {
        name: sourceOf(member.name, text),
        type: onOneLine(shape),
        isOptional: member.postfixToken !== undefined,
        about,
        ...(isMethod ? { parameters: [...member.parameters].map((one) => parameterName(one, text)) } : {}),
      },
    ]
  })
}

function parameterName(parameter: Node, text: string): string {
  return /^\w+\??/.exec(sourceOf(parameter, text))?.[0] ?? ''
}

/** A node's source without comments in front of it. */
const sourceOf = (node: Node | undefined, text: string) =>
  node ? text.slice(node.pos, node.end).replace(leadingComment, '').trim() : ''

/** Without comments, line breaks and `readonly`. */
function onOneLine(type: string): string {
  return type
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\breadonly /g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/,? (?=\))|(?<=\() |^\| /g, '')
    .trim()
}

/** The text of a leading doc comment on one line, without its tags. */
function commentIn(source: string): string {
  const [, comment = ''] = leadingComment.exec(source) ?? []
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*? ?/, '').trim())
  const end = lines.findIndex((line) => line.startsWith('@'))
  return (end < 0 ? lines : lines.slice(0, end)).join(' ').trim()
}
