#!/usr/bin/env node
/** The program `elysia-microservices`: runs the command line, which is a package of its own, where that is installed. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const NAME = '@elysia-microservices/cli'

/** The package beside this one, or else that of the folder in which the program is run. */
function installed(): string | undefined {
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return createRequire(from).resolve(NAME)
    } catch {
      // It is not there.
    }
  }
  return undefined
}

const file = installed()
if (file === undefined) {
  process.stderr.write(`The command line is a package of its own: npm install --save-dev ${NAME}\n`)
  process.exitCode = 2
} else {
  const { main } = (await import(pathToFileURL(file).href)) as {
    main(args: readonly string[]): Promise<void>
  }
  await main(process.argv.slice(2))
}
