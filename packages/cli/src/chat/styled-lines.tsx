/** @jsxRuntime automatic */
// Draws styled lines with Ink; consecutive lines of the same layout are drawn as one.
import { Box, Text } from 'ink'
import { colour } from '../terminal/pen.ts'
import { brokenSpans, EDGE, type Span, type StyledLine } from './styled.ts'

type LinesProps = { readonly lines: readonly StyledLine[]; readonly columns: number }

export function StyledLines({ lines, columns }: LinesProps) {
  return (
    <Box flexDirection="column" width={columns}>
      {groupsOf(lines).map((group, index) => (
        <Group key={index} lines={group} columns={columns} />
      ))}
    </Box>
  )
}

/** A line with a prefix is drawn alone, because its rows are indented by it. */
function groupsOf(lines: readonly StyledLine[]): StyledLine[][] {
  const groups: StyledLine[][] = []
  for (const line of lines) {
    const [first] = groups.at(-1) ?? []
    const isAlike =
      first &&
      !first.lead &&
      !line.lead &&
      !line.isApart &&
      first.hasEdge === line.hasEdge &&
      first.indent === line.indent
    if (isAlike) groups.at(-1)?.push(line)
    else groups.push([line])
  }
  return groups
}

function Group({ lines, columns }: LinesProps) {
  const { lead = '', hasEdge, indent = 0, isApart } = lines[0] ?? { spans: [] }
  return (
    <Box marginLeft={indent} marginTop={isApart ? 1 : 0} {...(hasEdge ? edge : {})}>
      {lead === '' ? null : (
        <Box flexShrink={0}>
          <Text color={colour('gray')}>{lead}</Text>
        </Box>
      )}
      <Text>
        {lines.map((line, index) => (
          <Row key={index} spans={brokenSpans(line, columns)} isFirst={index === 0} />
        ))}
      </Text>
    </Box>
  )
}

const edge = {
  borderStyle: 'single',
  borderTop: false,
  borderRight: false,
  borderBottom: false,
  borderDimColor: true,
  paddingLeft: EDGE - 1,
} as const

/** An empty row still takes a row. */
function Row({ spans, isFirst }: { readonly spans: readonly Span[]; readonly isFirst: boolean }) {
  const isEmpty = spans.every(({ text }) => text === '')
  return (
    <>
      {isFirst ? '' : '\n'}
      {isEmpty ? ' ' : ''}
      {spans.map(({ text, color, dim, ...looks }, index) => (
        <Text key={index} {...looks} dimColor={dim ?? false} color={color && colour(color)}>
          {text}
        </Text>
      ))}
    </>
  )
}
