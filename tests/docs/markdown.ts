/** The Markdown files of the documentation: their list, their code blocks and their headings. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolders, rootFolder } from '../workspace.ts'

/** All pages, as paths from the root of the repository. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(rootFolder, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
  'packages/transport/README.md',
  'packages/rsocket/README.md',
  'packages/tcp/README.md',
  'engines/engine/README.md',
  'engines/engine-tests/README.md',
  'engines/kafka/README.md',
  'engines/mqtt/README.md',
  'engines/nats/README.md',
  'engines/postgres/README.md',
  'engines/rabbitmq/README.md',
  'engines/redis/README.md',
  'engines/sqlite/README.md',
  'packages/websocket/README.md',
  'packages/connect/README.md',
  'packages/grpc/README.md',
  'packages/outbox/README.md',
  'packages/elysia-microservices/README.md',
  'packages/nestjs/README.md',
  'packages/telemetry/README.md',
  'packages/workers/README.md',
  'tools/cli/README.md',
  'tools/console/README.md',
  'tools/create-elysia-microservices/README.md',
  'examples/bench/README.md',
  'examples/dependency-injection/README.md',
  'examples/migrate-from-nest/README.md',
  'examples/shop/README.md',
  'examples/small/README.md',
  'examples/durable-events/README.md'
]

/** One fenced block. */
export interface CodeBlock {
  readonly file: string
  /** The line of the opening fence, from 1. */
  readonly line: number
  /** The text behind the fence: language, then words. */
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

/** The code blocks in the docstrings of the packages' sources. */
export function docstringBlocks(): CodeBlock[] {
  const files = [...packageFolders.values()].flatMap((folder) =>
    (readdirSync(join(rootFolder, folder, 'src'), { recursive: true }) as string[])
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => join(rootFolder, folder, 'src', file))
  )
  return files.flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    return [...text.matchAll(/^ *\* ```(\w+)\n([\s\S]*?)^ *\* ```$/gm)].map((match) => ({
      file,
      line: text.slice(0, match.index).split('\n').length,
      info: match[1] as string,
      code: (match[2] as string).replace(/^ *\* ?/gm, '')
    }))
  })
}

/** The anchors of headings, as GitHub generates them. */
export function anchorsOf(file: string): ReadonlySet<string> {
  const text = readFileSync(file, 'utf8').replace(/^```[\s\S]*?^```$/gm, '')
  return new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-')
    )
  )
}
