import { Monogram } from '#control-plane/dashboard/ui/monogram.tsx'
import { ModelLink } from './model-link.tsx'

type Props = { readonly id: string; readonly name: string; readonly lab: string }

/** A model with the mark of its lab, its name and its id. */
export function ModelName({ id, name, lab }: Props) {
  return (
    <span className="named">
      <Monogram name={lab} />
      <span>
        <ModelLink model={id}>{shortName(name)}</ModelLink>
        <span className="sub">
          <code>{id}</code>
        </span>
      </span>
    </span>
  )
}

/** The name without the name of its lab, which the mark shows: "Anthropic: Claude 3.5 Haiku" is "Claude 3.5 Haiku". */
export function shortName(name: string): string {
  return name.replace(/^[^:]{1,40}: /, '')
}
