/**
 * The compiler's types in the landing page's example: each name shows its type, as in an editor, when the pointer is on
 * it. The compiler reads the blocks of README.md while the site is built; the page needs no script for it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import type { MarkdownOptions } from 'vitepress'
import { rootFolder } from './pages.ts'

type Transformer = NonNullable<MarkdownOptions['codeTransformers']>[number]
type Element = Parameters<NonNullable<Transformer['span']>>[0]
type ElementContent = Element['children'][number]

/** The longest type that is shown, in characters: a longer type explains nothing at a glance. */
const LONGEST_TYPE = 240

/** The code blocks between the README's markers, by the paths that they would have in a project. */
function readBlocks(): ReadonlyMap<string, string> {
  const readme = readFileSync(join(rootFolder, 'README.md'), 'utf8')
  const [, region = ''] = /#region twenty-lines -->([\s\S]*?)<!-- #endregion/.exec(readme) ?? []
  const blocks = [...region.matchAll(/```ts\n(\/\/ (\S+\.ts)\n[\s\S]*?)```/g)]
  return new Map(blocks.map(([, code = '', name = '']) => [join(rootFolder, 'site', name), code.trimEnd()]))
}

function compilerOf(blocks: ReadonlyMap<string, string>): ts.LanguageService {
  const textOf = (path: string) =>
    blocks.get(path) ?? (existsSync(path) ? readFileSync(path, 'utf8') : undefined)
  return ts.createLanguageService({
    getCompilationSettings: () => ({
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      strict: true,
      skipLibCheck: true,
      types: ['node']
    }),
    getScriptFileNames: () => [...blocks.keys()],
    getScriptVersion: () => '1',
    getScriptSnapshot(path) {
      const text = textOf(path)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => join(rootFolder, 'site'),
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: (path) => blocks.has(path) || ts.sys.fileExists(path),
    readFile: textOf,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories
  })
}

const span = (name: string, children: ElementContent[]): Element => ({
  type: 'element',
  tagName: 'span',
  properties: { class: name },
  children
})

/** Adds types to the names in the README's example, while Shiki colours it. */
export function hoverTypes(): Transformer {
  const blocks = readBlocks()
  let compiler: ts.LanguageService | undefined

  /** The type of the name at a position, as an editor shows it; '' if there is none, or if it is too long. */
  function typeAt(path: string, position: number): string {
    compiler ??= compilerOf(blocks)
    const parts = compiler.getQuickInfoAtPosition(path, position)?.displayParts
    const type = ts
      .displayPartsToString(parts)
      .replace(/^\(alias\) /, '')
      .replace(/\nimport \w+$/, '')
    return type.length > LONGEST_TYPE ? '' : type
  }

  /** Splits a token into elements, so that each name with a type is an element of its own. */
  function typed(path: string, text: string, offset: number): ElementContent[] {
    let position = offset
    return text.split(/\b([A-Za-z_]\w*)/).map((value) => {
      const type = /^\w/.test(value) ? typeAt(path, position) : ''
      position += value.length
      const part: ElementContent = { type: 'text', value }
      if (type === '') return part
      return span('typed', [part, span('type vp-copy-ignore', [{ type: 'text', value: type }])])
    })
  }

  return {
    name: 'hover-types',
    span(node, _line, _column, _parent, { content, offset }) {
      const [path] = [...blocks].find(([, code]) => code === this.source.trimEnd()) ?? []
      if (path !== undefined && !/^\s*(['"`]|\/\/)/.test(content))
        node.children = typed(path, content, offset)
    }
  }
}
