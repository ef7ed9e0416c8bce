/** The public API is written to a file of each package, so that each change of it is seen and meant. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { bun, rootFolder } from '../workspace.ts'

describe('the public API of the packages', () => {
  it('is that of their api.txt; `npm run api` writes these', async () => {
    await promisify(execFile)(bun, ['site/public-api.ts', '--check'], { cwd: rootFolder }).catch(
      ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) =>
        assert.fail(
          `${stdout}${stderr}\`npm run build && npm run api\` writes it: look at the diff, and add a changeset if users notice it`
        )
    )
  })
})
