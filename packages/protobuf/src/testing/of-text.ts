/** Reads the text of a `.proto` file in a test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadProto } from '../load-proto.ts'
import type { Proto } from '../proto.ts'
import type { ProtoShapes } from '../proto-shapes.ts'

/** @param text the text of a file, or the texts of several by their names; the first one is loaded */
export async function protoOfText(
  text: string | Readonly<Record<string, string>>,
  shapes: ProtoShapes = {}
): Promise<Proto> {
  const files = typeof text === 'string' ? { 'test.proto': text } : text
  const folder = mkdtempSync(join(tmpdir(), 'proto-'))
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    return await loadProto({ files: join(folder, Object.keys(files)[0] as string), ...shapes })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
