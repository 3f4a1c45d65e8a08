export function shownCommands(readme: string): readonly string[];
