/** The reference of the API: every entry of every package that is published, read from its declarations. */
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { Converter, ReflectionKind, RendererEvent } from 'typedoc'

/** Where the site stands on its host; `.vitepress/config.ts` takes it too. */
const base = process.env.DOCS_BASE ?? '/'
const packages = resolve(import.meta.dirname, '../packages')

/** Entries that are described elsewhere, or that only the command line loads. */
const LEFT_OUT = ['./testing', './preload', './guard']

/** The name by which users import an entry, by the file of its declarations. */
const entries = new Map(
  readdirSync(packages)
    .map((folder) => join(packages, folder))
    .flatMap((folder) => {
      const {
        name,
        exports,
        private: isPrivate
      } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      if (isPrivate) return []
      return Object.entries(exports ?? {})
        .filter(([path, target]) => typeof target !== 'string' && !LEFT_OUT.includes(path))
        .map(([path, { types }]) => [join(folder, types), name + path.slice(1)])
    })
)

/** Modules have the names of their files; they get those by which they are imported. */
function importNames(application) {
  application.converter.on(Converter.EVENT_CREATE_DECLARATION, (context, reflection) => {
    if (!reflection.kindOf(ReflectionKind.Module)) return
    const file = context.getSymbolFromReflection(reflection)?.declarations?.[0]?.getSourceFile().fileName
    reflection.name = entries.get(file) ?? reflection.name
  })
}

/** Every export says what it is for, and every method what it does; other members may be plain by their names. */
function everyExportIsDocumented(application) {
  application.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    const check = (entry, parent) => {
      if (!isSaid(entry)) application.logger.error(`${entry.name} of ${parent.name} has no docstring`)
    }
    for (const module of project.getReflectionsByKind(ReflectionKind.Module))
      for (const entry of module.children ?? []) {
        check(entry, module)
        for (const member of entry.children ?? [])
          if (member.kindOf(ReflectionKind.Method) && member.inheritedFrom === undefined) check(member, entry)
      }
  })
}

function isSaid(entry) {
  return [entry, ...(entry.signatures ?? [])].some((each) => each.isReference() || each.hasComment())
}

/** Copies the site's font to where `api.css` looks for it. */
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
  plugin: [importNames, everyExportIsDocumented, fontOfTheSite],
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
  // NATS's own words in what its options inherit.
  externalSymbolLinkMappings: { '@nats-io/nats-core': { '*': '#' } },
  validation: { notExported: false, invalidLink: true },
  treatWarningsAsErrors: true
}
