/** The paths of the workspace, for tests that run its commands. The same under Bun (sources) and Node (compiled). */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Whether the tests run under Bun. */
export const underBun = process.versions.bun !== undefined
/** The folder of the tests' package. */
export const testsFolder = underBun ? here : fileURLToPath(new URL('..', import.meta.url))
/** The root of the repository. */
export const rootFolder = fileURLToPath(new URL('..', `file://${testsFolder}`))
/** The folders of the packages as paths from the root, by the name of the folder: `tcp` → `packages/tcp`. */
export const packageFolders: ReadonlyMap<string, string> = new Map(
  ['packages', 'engines', 'tools'].flatMap((row) =>
    readdirSync(join(rootFolder, row))
      .filter((name) => existsSync(join(rootFolder, row, name, 'src')))
      .map((name) => [name, `${row}/${name}`] as const)
  )
)
/** The folder of a package, as a path from the root. @param name the name of its folder */
export function packageFolder(name: string): string {
  const folder = packageFolders.get(name)
  if (folder === undefined) throw new Error(`There is no package ${name}`)
  return folder
}
/**
 * The path of a test program in the form for this runtime. @param program the path of its source from the tests'
 * folder, without extension
 */
export function programFile(program: string, bunRuns = underBun): string {
  return bunRuns ? `${program}.ts` : `dist/${program}.js`
}

/**
 * The arguments of this runtime that run a test program with the built packages, as users' programs do. Bun would read
 * the sources of all packages, by `paths` of the tests' tsconfig.json, which takes a third of the time of a short program.
 */
export function programArguments(program: string): readonly string[] {
  const built = underBun ? [`--tsconfig-override=${join(testsFolder, 'tsconfig.installed.json')}`] : []
  return [...built, programFile(program)]
}

/** The program of the workspace's Bun. */
export const bun = `${rootFolder}node_modules/.bin/bun`
/** The program of the workspace's TypeScript compiler. */
export const tsc = `${rootFolder}node_modules/.bin/tsc`
