/** The size of each peer's installation on the disk: `bun run-sizes.ts`. */
import { measureInstallations } from './install/installations.ts'
import { print, runCommand } from './process/main.ts'
import { prepareOthers } from './process/others.ts'
import { SIZES_REMARK, sizeRows, sizesHeader } from './report/sections.ts'
import { alignColumns } from './report/table.ts'

await runCommand(
  async () => {
    prepareOthers(['bun'])
    const rows = [sizesHeader, ...sizeRows(await measureInstallations())]
    await print(`${alignColumns(rows).join('\n')}\n${SIZES_REMARK}\n`)
    return 0
  },
  async () => {}
)
