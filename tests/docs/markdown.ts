/** Code blocks of Markdown files. */
import { readFileSync } from 'node:fs'

/** One fenced block. */
export interface CodeBlock {
  readonly file: string
  /** Line of its first fence, from 1. */
  readonly line: number
  /** What stands behind the fence: language, then words. */
  readonly info: string
  readonly code: string
}

/** The fenced blocks of a file, in order. */
export function codeBlocks(file: string): CodeBlock[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    file,
    line: text.slice(0, match.index).split('\n').length,
    info: (match[1] as string).trim(),
    code: match[2] as string
  }))
}
