/** Where the workspace is, for tests that run its commands. The same under Bun (sources) and Node (dist). */
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Whether the tests run under Bun. */
export const underBun = process.versions.bun !== undefined
/** The package of the tests. */
export const testsFolder = underBun ? here : fileURLToPath(new URL('..', import.meta.url))
/** The root of the repository. */
export const rootFolder = fileURLToPath(new URL('..', `file://${testsFolder}`))
/** A program of the tests in this runtime's form, from their folder. @param program path of its source without extension */
export function programFile(program: string, bunRuns = underBun): string {
  return bunRuns ? `${program}.ts` : `dist/${program}.js`
}

/** The Bun of the workspace. */
export const bun = `${rootFolder}node_modules/.bin/bun`
/** The TypeScript compiler of the workspace. */
export const tsc = `${rootFolder}node_modules/.bin/tsc`
