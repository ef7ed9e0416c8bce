/** The public API of each package is written in a file, so that each change of the API is seen and intended. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { bun, rootFolder } from '../workspace.ts'

describe('the public API of the packages', () => {
  it('is the one in their api.txt; `npm run api` writes these files', async () => {
    await promisify(execFile)(bun, ['tools/site/public-api.ts', '--check'], { cwd: rootFolder }).catch(
      ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) =>
        assert.fail(
          `${stdout}${stderr}\`npm run build && npm run api\` writes it: look at the diff, and add a changeset if users notice it`
        )
    )
  })
})
