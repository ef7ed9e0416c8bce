/** Why something has failed; nothing if the text is empty. */
export function Problem({ text }: { readonly text: string }) {
  return text === '' ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  )
}
