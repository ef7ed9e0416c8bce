/**
 * Runs Kafka's tests with version 2 of the driver; the package itself depends on version 1. Version 2 needs Node
 * 22.22 or later, so the tests run on the newest Node LTS, and on Bun.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isMissing, newestNode } from '@elysia-microservices/test-support'
import { kafkaMissing } from '../support/kafka-server.ts'
import { fileOfOthers } from '../support/others.ts'
import { bun, programFile, rootFolder, testsFolder, underBun } from '../workspace.ts'

const NODE_LTS = newestNode()
const LONGEST = 500_000

/** All of Kafka's tests but this one. */
const files = readdirSync(join(testsFolder, 'kafka'))
  .filter((name) => name.endsWith('.test.ts') && name !== basename(import.meta.url).replace(/js$/, 'ts'))
  .map((name) => `kafka/${name.slice(0, -'.ts'.length)}`)

if (!isMissing("version 2 of Kafka's driver", kafkaMissing()))
  describe("with version 2 of Kafka's driver", { timeout: 2 * LONGEST }, () => {
    let preload: string
    before(async () => {
      // Without files, Bun would run every test of this folder.
      assert.ok(files.length > 0)
      preload = await fileOfOthers('kafka-2')
    })

    async function pass(env: NodeJS.ProcessEnv, program: string, ...args: string[]) {
      const { stdout, stderr } = await promisify(execFile)(program, args, {
        cwd: testsFolder,
        env: { ...process.env, ...env },
        maxBuffer: 64 * 1024 * 1024
      })
      assert.match(stderr, /^@platformatic\/kafka is version 2$/m)
      return stdout + stderr
    }

    // The suite of each runtime starts one of the two.
    if (underBun)
      it("Kafka's tests pass on Bun", async () => {
        const BUN_OPTIONS = `--preload=${fileURLToPath(preload)}`
        const paths = files.map((file) => `./${programFile(file, true)}`)
        const said = await pass({ BUN_OPTIONS }, bun, 'test', `--timeout=${LONGEST}`, ...paths)
        assert.match(said, /^ *[1-9]\d+ pass$/m)
      })
    else
      it("Kafka's tests pass on the newest Node LTS", async () => {
        const NODE_OPTIONS = `--import=${preload}`
        const runner = join(rootFolder, 'tools/scripts/node-tests.mjs')
        const paths = files.map((file) => programFile(file, false))
        const said = await pass({ NODE_OPTIONS, NODE_TEST_CONTEXT: undefined }, NODE_LTS, runner, ...paths)
        assert.match(said, /^. pass [1-9]\d+$/m)
      })
  })
