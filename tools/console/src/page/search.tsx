/** A search field above a list, which finds the list's entries by name. */
export function Search({ text, set }: { readonly text: string; readonly set: (text: string) => void }) {
  return (
    <label class="search">
      <span>Find</span>
      <input type="search" value={text} onInput={({ currentTarget }) => set(currentTarget.value)} />
    </label>
  )
}
