// What is copied from a session of the command line are its commands: no prompt, no output.
document.addEventListener("copy", (event) => {
  const from = document.activeElement;
  const text = from && from.tagName === "TEXTAREA" ? from.value.slice(from.selectionStart, from.selectionEnd) : String(getSelection());
  const commands = text.split("\n").filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
  if (!commands.length) return;
  event.clipboardData.setData("text/plain", commands.join("\n") + "\n");
  event.preventDefault();
}, true);
