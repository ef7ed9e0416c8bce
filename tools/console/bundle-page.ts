/**
 * Bundles the page into `dist/assets.js`: its HTML, script and style as texts, so that users' bundlers include
 * them. The licences of the bundled packages are at the beginning of the script.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

const PARTS = ['preact', 'uplot', '@dagrejs/dagre', '@dagrejs/graphlib']

const { outputFiles } = await build({
  entryPoints: ['src/page/main.tsx', 'src/page/style.css'],
  outdir: 'out',
  platform: 'browser',
  target: 'es2022',
  format: 'esm',
  bundle: true,
  minify: true,
  write: false,
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning'
})
const made = (ending: string) => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? ''
const licences = PARTS.map((name) => {
  const folder = dirname(Bun.resolveSync(`${name}/package.json`, import.meta.dirname))
  return `${name}\n${readFileSync(join(folder, 'LICENSE'), 'utf8').trim()}`
})
const notice = `/*!\n${licences.join('\n\n')}\n*/\n`
const files = {
  html: readFileSync(join('src', 'page', 'page.html'), 'utf8'),
  script: notice + made('.js'),
  style: notice + made('.css')
}
const text = Object.entries(files).map(([name, file]) => `export const ${name} = ${JSON.stringify(file)}\n`)
writeFileSync(join('dist', 'assets.js'), text.join(''))
