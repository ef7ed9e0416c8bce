/**
 * The configuration of the API reference: every entry point of every published package, read from its declarations.
 */
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { Converter, ReflectionKind, RendererEvent } from 'typedoc'

/** The path of the site on its host; `.vitepress/config.ts` reads the same variable. */
const base = process.env.DOCS_BASE ?? '/'
const root = resolve(import.meta.dirname, '../..')

/** Entry points that are described elsewhere, or that only the command line loads. */
const LEFT_OUT = ['./testing', './preload', './guard']
/** The one entry of that name that is for users' tests; the others are for the tests of this repository. */
const TESTING = 'elysia-microservices/testing'

/** The name by which users import an entry point, by the file with its declarations. */
const entries = new Map(
  ['packages', 'engines', 'tools']
    .flatMap((row) => readdirSync(join(root, row)).map((name) => join(root, row, name)))
    .filter((folder) => existsSync(join(folder, 'package.json')))
    .flatMap((folder) => {
      const {
        name,
        exports,
        private: isPrivate
      } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      if (isPrivate) return []
      return Object.entries(exports ?? {})
        .filter(
          ([path, target]) =>
            typeof target !== 'string' && (!LEFT_OUT.includes(path) || name + path.slice(1) === TESTING)
        )
        .map(([path, { types }]) => [join(folder, types), name + path.slice(1)])
    })
)

/** Names each module as users import it: TypeDoc would use the name of its file. */
function importNames(application) {
  application.converter.on(Converter.EVENT_CREATE_DECLARATION, (context, reflection) => {
    if (!reflection.kindOf(ReflectionKind.Module)) return
    const file = context.getSymbolFromReflection(reflection)?.declarations?.[0]?.getSourceFile().fileName
    reflection.name = entries.get(file) ?? reflection.name
  })
}

/** Reports exports and methods without a docstring; other members may be clear by their names. */
function everyExportIsDocumented(application) {
  application.converter.on(Converter.EVENT_RESOLVE_END, (context) => {
    const { project } = context
    const check = (entry, parent) => {
      if (!isSaid(entry)) application.logger.error(`${entry.name} of ${parent.name} has no docstring`)
    }
    for (const module of project.getReflectionsByKind(ReflectionKind.Module))
      for (const entry of module.children ?? []) {
        if (isOfOthers(context.getSymbolFromReflection(entry))) continue
        check(entry, module)
        for (const member of entry.children ?? [])
          if (member.kindOf(ReflectionKind.Method) && member.inheritedFrom === undefined) check(member, entry)
      }
  })
}

/** Makes links of rxjs's own documentation, which inherited methods have, plain names: they lead to its pages. */
function noLinksOfRxjs(application) {
  application.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => {
    for (const signature of context.project.getReflectionsByKind(ReflectionKind.CallSignature)) {
      const [declared] = context.getSymbolFromReflection(signature.parent)?.declarations ?? []
      if (!declared?.getSourceFile().fileName.includes('/node_modules/rxjs/')) continue
      const { summary = [], blockTags = [] } = signature.comment ?? {}
      for (const part of [summary, ...blockTags.map(({ content }) => content)].flat())
        if (part.kind === 'inline-tag') Object.assign(part, { kind: 'code', text: `\`${part.text}\`` })
    }
  })
}

/** Whether another project declares it, such as Nest's `ClientProxy`, which our package for Nest exports, too. */
function isOfOthers(symbol) {
  return symbol?.declarations?.[0]?.getSourceFile().fileName.includes('/node_modules/') ?? false
}

function isSaid(entry) {
  return [entry, ...(entry.signatures ?? [])].some((each) => each.isReference() || each.hasComment())
}

/** Copies the font of the site to the path that `api.css` uses. */
function fontOfTheSite(application) {
  const vitepress = dirname(createRequire(import.meta.url).resolve('vitepress/package.json'))
  const font = 'inter-roman-latin.woff2'
  application.renderer.on(RendererEvent.END, ({ outputDirectory }) =>
    copyFileSync(
      join(vitepress, 'dist/client/theme-default/fonts', font),
      join(outputDirectory, 'assets', font)
    )
  )
}

export default {
  plugin: [importNames, everyExportIsDocumented, noLinksOfRxjs, fontOfTheSite],
  tsconfig: 'tsconfig.api.json',
  entryPoints: [...entries.keys()],
  out: 'dist/api',
  name: 'elysia-microservices',
  readme: 'api.md',
  customCss: 'api.css',
  favicon: 'icon.svg',
  titleLink: base,
  navigationLinks: { Documentation: base },
  disableSources: true,
  excludePrivate: true,
  hideGenerator: true,
  // Links of NATS's own documentation that inherited options contain.
  externalSymbolLinkMappings: { '@nats-io/nats-core': { '*': '#' } },
  validation: { notExported: false, invalidLink: true },
  treatWarningsAsErrors: true
}
