/** The data of an event, which are shown when somebody opens them. */
import { plural } from '../plural.ts'

export function EventData(props: { readonly id: string; readonly data: string; readonly cut: number }) {
  const { id, data, cut } = props
  return (
    <details>
      <summary>Data</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard */}
      <section class="text" tabIndex={0} aria-label={`Data of ${id}`}>
        <pre>{data}</pre>
        {cut > 0 && <span class="hint">{plural(cut, 'more character')}</span>}
      </section>
    </details>
  )
}

/** The pattern, id and key of an event. */
export function EventName(props: {
  readonly pattern: string
  readonly id: string
  readonly name?: string | undefined
}) {
  const { pattern, id, name } = props
  return (
    <>
      <code>{pattern}</code>, id <code>{id}</code>
      {name !== undefined && (
        <>
          , key <code>{name}</code>
        </>
      )}
    </>
  )
}
